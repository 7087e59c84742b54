// Pictures of numbers: light to dark by value, and a hatched square where a value is hidden.

const MOST_PIXELS = 704;
const SMALL_PIXELS = 96;

export class Palette {
  constructor(low, high) {
    this.low = low;
    this.high = high > low ? high : low + 1;
    this.read();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => { this.read(); this.changed?.(); });
  }

  read() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.ends = [rgb(colour("--low")), rgb(colour("--high"))];
    [this.gap, this.gapLine, this.cursor] = ["--gap", "--gap-line", "--main"].map(colour);
  }

  of(value) {
    const share = Math.min(1, Math.max(0, (value - this.low) / (this.high - this.low)));
    const [a, b] = this.ends;
    return `rgb(${a.map((x, i) => Math.round(x + share * (b[i] - x))).join(" ")})`;
  }
}

function rgb(text) {
  const digits = text.replace("#", "");
  return [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16));
}

// Draws values (null where hidden) of height x width; `mark` is a pixel to outline, `box` a rectangle.
export function draw(canvas, values, [height, width], palette, { small = false, mark = null, box = null } = {}) {
  const cell = Math.max(1, Math.floor((small ? SMALL_PIXELS : MOST_PIXELS) / Math.max(height, width)));
  if (canvas.width !== cell * width || canvas.height !== cell * height) {
    canvas.width = cell * width;
    canvas.height = cell * height;
  }
  const pen = canvas.getContext("2d");
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const value = values[y * width + x];
      pen.fillStyle = value === null ? palette.gap : palette.of(value);
      pen.fillRect(x * cell, y * cell, cell, cell);
      if (value === null && cell >= 4) hatch(pen, x * cell, y * cell, cell, palette.gapLine);
    }
  }
  if (mark) outline(pen, mark.x, mark.y, 1, 1, cell, palette.cursor);
  if (box) outline(pen, box.x, box.y, box.width, box.height, cell, palette.cursor);
}

function hatch(pen, x, y, cell, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = Math.max(1, cell / 24);
  pen.beginPath();
  pen.moveTo(x + cell * 0.2, y + cell * 0.8);
  pen.lineTo(x + cell * 0.8, y + cell * 0.2);
  pen.stroke();
}

function outline(pen, x, y, width, height, cell, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = Math.max(2, cell / 12);
  const inset = pen.lineWidth / 2;
  pen.strokeRect(x * cell + inset, y * cell + inset, width * cell - 2 * inset, height * cell - 2 * inset);
}
