// A row from a spreadsheet: cells between tabs, semicolons, commas or lines, with a line of names above or without.

const MISSING = new Set(["", "na", "n/a", "nan", "null", "none", "?", "-", "–", "#n/a", "."]);

export class PasteError extends Error {}

export function readRow(text, names) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n").filter((line) => line.trim() !== "");
  if (!lines.length) throw new PasteError("There is nothing to paste.");
  const separator = separatorOf(lines, names.length);
  const cells = (line) => (separator === null ? [line] : line.split(separator)).map(unquoted);
  const decimalComma = separator !== ",";
  if (lines.length === names.length && lines.length > 1 && cells(lines[0]).length === 1) {
    return lines.map((line, i) => number(unquoted(line), true, names[i])); // a column
  }
  const first = cells(lines[0]);
  if (lines.length > 1 && first.some((cell) => !MISSING.has(cell.toLowerCase()) && !isNumber(cell, decimalComma))) {
    return byName(first, cells(lines[1]), names, decimalComma);
  }
  if (lines.length > 1) throw new PasteError(`${lines.length} rows were pasted; one is needed, or one below a line of names.`);
  if (first.length !== names.length) {
    throw new PasteError(`${first.length} ${first.length === 1 ? "cell was" : "cells were"} pasted, and there are ${names.length} features: one each, empty where it is missing.`);
  }
  return first.map((cell, i) => number(cell, decimalComma, names[i]));
}

function separatorOf(lines, n) {
  for (const sign of ["\t", ";", ","]) if (lines[0].includes(sign)) return sign;
  return n > 1 && /\S\s+\S/.test(lines[0].trim()) && lines[0].trim().split(/\s+/).length === n ? /\s+/ : null;
}

function unquoted(cell) {
  const plain = cell.trim();
  return plain.length > 1 && plain.startsWith('"') && plain.endsWith('"') ? plain.slice(1, -1).replaceAll('""', '"').trim() : plain;
}

function byName(head, row, names, decimalComma) {
  const exact = names.map((name) => name.trim()), lower = exact.map((name) => name.toLowerCase());
  const values = names.map(() => null), given = new Set();
  head.forEach((name, j) => {
    // Names may differ in nothing but capitals; then only the same capitals are the same name.
    const alike = lower.filter((other) => other === name.toLowerCase()).length === 1;
    const i = exact.includes(name) ? exact.indexOf(name) : alike ? lower.indexOf(name.toLowerCase()) : -1;
    if (i < 0) return; // a column of something else, such as a label
    if (given.has(i)) throw new PasteError(`${short(names[i])} was pasted more than once.`);
    given.add(i);
    values[i] = number(row[j] ?? "", decimalComma, names[i]);
  });
  if (!given.size) throw new PasteError(`No feature is called “${short(head[0])}” or as the other names that were pasted.`);
  return values;
}

export function isNumber(cell, decimalComma = true) {
  const plain = decimalComma && /^[+-]?\d+,\d+$/.test(cell) ? cell.replace(",", ".") : cell;
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(plain) && Number.isFinite(Number(plain));
}

// A number, or null for a cell that is empty or says that a value is missing.
export function number(cell, decimalComma = true, name = "") {
  const plain = cell.trim().replace(/^\u2212/, "-"); // the minus sign of typeset tables
  if (MISSING.has(plain.toLowerCase())) return null;
  if (!isNumber(plain, decimalComma)) throw new PasteError(`“${short(plain)}”${name ? ` for ${short(name)}` : ""} is no number.`);
  return Number(decimalComma ? plain.replace(",", ".") : plain);
}

const short = (text) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
