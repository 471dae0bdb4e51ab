// A writer of SVG with what the plots need.

type Attributes = Readonly<Record<string, string | number>>;

export type Point = readonly [x: number, y: number];

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Rounds to a tenth of a pixel. */
const rounded = (value: string | number): string => (typeof value === 'number' ? String(Math.round(value * 10) / 10) : escaped(value));

export const element = (name: string, attributes: Attributes, content = ''): string => {
  const written = Object.entries(attributes).map(([attribute, value]) => ` ${attribute}="${rounded(value)}"`);
  return content === '' ? `<${name}${written.join('')}/>` : `<${name}${written.join('')}>${content}</${name}>`;
};

export const text = (content: string, [x, y]: Point, attributes: Attributes = {}): string =>
  element('text', {x, y, ...attributes}, escaped(content));

export const line = ([x1, y1]: Point, [x2, y2]: Point, attributes: Attributes = {}): string =>
  element('line', {x1, y1, x2, y2, stroke: '#ccc', ...attributes});

/** A line through points, with a dot on each. */
export const polyline = (points: readonly Point[], color: string): string =>
  element('polyline', {
    points: points.map(point => point.map(rounded).join(',')).join(' '),
    fill: 'none',
    stroke: color,
    'stroke-width': 2,
  }) + points.map(([cx, cy]) => element('circle', {cx, cy, r: 3, fill: color})).join('');

/** A drawing on white, as pages may be dark. */
export const drawing = (width: number, height: number, content: readonly string[]): string =>
  `${element(
    'svg',
    {xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${height}`, 'font-family': 'sans-serif', 'font-size': 11, fill: '#333'},
    `\n${[element('rect', {width, height, fill: '#fff'}), ...content].join('\n')}\n`,
  )}\n`;
