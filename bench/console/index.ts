// Measures the page of the console in Chromium with many pods: how long after the click the first rows and all of them
// are there, the processor time of the plane meanwhile, and how even the frames are while scrolling. With nodes, the
// plane is starting the pods at the same time. `node dist/bench/console/index.js [PODS] [NODES]`

import {kinds} from '#src/api/kinds/index.js';
import {startPlane} from '#src/plane/plane.js';
import {chromiumFlags, chromiumPath} from '#test/console/scene.js';

const pods = Number(process.argv[2] ?? 10_000);
const nodes = Number(process.argv[3] ?? 0);
const executablePath = chromiumPath();
if (!executablePath) throw new Error('Chromium is not installed');

const plane = await startPlane({
  apiserverArgs: ['--disable-admission-plugins=ServiceAccount'],
  controllerManagerArgs: ['--controllers='],
  nodes,
  record: false,
});
const client = plane.client();
let next = 0;
const create = async (): Promise<void> => {
  for (let at = next++; at < pods; at = next++)
    await client.create(kinds.pods, {
      metadata: {name: `pod-${String(at).padStart(5, '0')}`, namespace: 'default', labels: {app: `app-${at % 50}`}},
      // Without nodes nothing works on them.
      spec: {
        ...(nodes > 0 ? {} : {nodeName: `node-${at % 500}`}),
        containers: [{name: 'main', image: 'registry.example.com/team/app:1.2.3'}],
      },
    });
};
await Promise.all(Array.from({length: 32}, create));

const served = await plane.console();
const {chromium} = await import('playwright-core');
const browser = await chromium.launch({executablePath, args: chromiumFlags});
const page = await browser.newPage({viewport: {width: 1280, height: 800}});
await page.goto(served.link());
await page.getByRole('navigation', {name: 'Views'}).waitFor();

/** Runs in the page: goes to the pods, and returns when the first and when all were shown, in ms. */
const listed = `new Promise(resolve => {
  const begin = performance.now();
  let first;
  const look = () => {
    const count = document.querySelector('.list .count')?.textContent ?? '';
    const shown = document.querySelectorAll('.grid-row').length;
    if (shown > 0 && first === undefined) first = performance.now() - begin;
    if (count === '${pods.toLocaleString('en')}') resolve([first, performance.now() - begin]);
    else requestAnimationFrame(look);
  };
  location.hash = '#/objects/core/pods';
  requestAnimationFrame(look);
})`;

/** Runs in the page: scrolls through the list for two seconds, and returns the times between frames. */
const scrolled = `new Promise(resolve => {
  const grid = document.querySelector('.grid');
  const times = [];
  let last = performance.now();
  const begin = last;
  const step = now => {
    times.push(now - last);
    last = now;
    grid.scrollTop += 700;
    if (now - begin < 2000) requestAnimationFrame(step);
    else resolve(times);
  };
  requestAnimationFrame(step);
})`;

const text = (value: number): string => value.toFixed(0);
for (let run = 1; run <= 3; run++) {
  await page.evaluate(`location.hash = '#/objects'`);
  await page.getByText('core', {exact: true}).waitFor();
  const before = process.cpuUsage();
  const [first, all] = (await page.evaluate(listed)) as [number, number];
  const {user, system} = process.cpuUsage(before);
  await page.waitForTimeout(500);
  const frames = ((await page.evaluate(scrolled)) as number[]).sort((one, other) => one - other);
  const median = frames[Math.floor(frames.length / 2)] ?? 0;
  const late = frames.filter(each => each > 34).length;
  console.log(
    `${pods} pods: first rows after ${text(first)} ms, all after ${text(all)} ms, ${text((user + system) / 1000)} ms of the plane; scrolling: ${frames.length} frames, median ${median.toFixed(1)} ms, ${late} of more than two frames`,
  );
}
await browser.close();
await plane.stop();
