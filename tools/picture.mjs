// Draws the first console of the README as a terminal in which the lines appear one after the other:
// docs/images/tour.svg. A test types the same console, so that the picture shows what the programs print.
import {readFileSync, writeFileSync} from 'node:fs';

const [columns, lineHeight, characterWidth, margin, titleHeight] = [108, 20, 7.8, 16, 36];
const [typedSeconds, printedSeconds] = [1.2, 0.25];

const escaped = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(' ', '\u00A0'); // Spaces would be collapsed.

/** The lines of the first console, broken where the terminal ends. */
const linesOf = page =>
  (/^```console\n([^]*?)^```$/m.exec(page)?.[1] ?? '')
    .trimEnd()
    .split('\n')
    .flatMap(line => line.match(new RegExp(`.{1,${columns}}`, 'g')) ?? ['']);

/** Returns the picture of a page's first console. */
export const pictureOf = page => {
  const lines = linesOf(page);
  const [width, height] = [Math.ceil(columns * characterWidth) + 2 * margin, titleHeight + lines.length * lineHeight + margin];
  let seconds = 0;
  const texts = lines.map((line, index) => {
    const isCommand = line.startsWith('$ ');
    seconds += isCommand ? typedSeconds : printedSeconds;
    const content = isCommand ? `<tspan class="prompt">$</tspan>${escaped(line.slice(1))}` : escaped(line);
    const y = titleHeight + index * lineHeight + 12;
    return `<text class="${isCommand ? 'command' : 'output'}" x="${margin}" y="${y}" style="animation-delay:${seconds.toFixed(2)}s">${content}</text>`;
  });
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (colour, index) => `<circle cx="${margin + 6 + 20 * index}" cy="18" r="6" fill="${colour}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal: a plane is started, and a deployment gets its pods">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#c9d1d9;animation:appear 1ms linear both}
.command{fill:#fff}
.prompt{fill:#3fb950}
@keyframes appear{from{opacity:0}to{opacity:1}}
@media (prefers-reduced-motion:reduce){text{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
${dots.join('')}
${texts.join('\n')}
</svg>
`;
};

export const pictureFile = 'docs/images/tour.svg';

if (import.meta.filename === process.argv[1]) writeFileSync(pictureFile, pictureOf(readFileSync('README.md', 'utf8')));
