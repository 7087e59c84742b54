"""The same answer by two web frameworks, for ``python -m benchmarks.serve --frameworks``; needs FastAPI, too."""

import json

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route


class Asked(BaseModel):
    rows: list[list[float | None]]
    k: int = 10


class Found(BaseModel):
    ids: list[list[int]]


async def by_starlette(request):
    body = json.loads(await request.body())
    return Response(json.dumps({"ids": [[1] * 10 for _ in body["rows"]]}), media_type="application/json")


star = Starlette(routes=[Route("/v1/search", by_starlette, methods=["POST"])])
fast = FastAPI()


@fast.post("/v1/search")
async def by_fastapi(body: Asked) -> Found:
    return Found(ids=[[1] * 10 for _ in body.rows])
