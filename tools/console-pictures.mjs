// Takes the pictures of docs/console.md from the page in Chromium: docs/pictures/*.png. The plane is on a virtual
// clock, so that they show the same each time.
import {chromium} from 'playwright-core';
import {VirtualClock} from '../dist/src/base/virtual-clock.js';
import {startPlane} from '../dist/src/plane/plane.js';
import {chromiumFlags, chromiumPath, fillPlane} from '../dist/test/console/scene.js';

const executablePath = chromiumPath();
if (!executablePath) {
  console.error('tools/console-pictures.mjs: Chromium is not installed (Debian: apt-get install chromium)');
  process.exit(1);
}
const clock = new VirtualClock();
const plane = await startPlane({listen: false, clock, nodes: 3});
await fillPlane(plane, clock);
const served = await plane.console();
const browser = await chromium.launch({executablePath, args: chromiumFlags});

/** The pictures: where the page is, what has to be there, and how it looks. */
const pictures = {
  overview: {hash: '#/overview', until: 'pod/waits', scheme: 'light', waitMs: 9000},
  owners: {hash: '#/objects/apps/deployments/default/web', until: 'replicas', scheme: 'light'},
  graph: {hash: '#/objects/apps/deployments/default/web?tab=graph', until: 'does not exist', scheme: 'dark'},
  history: {hash: '#/objects/apps/deployments/default/web?tab=history', until: 'created', scheme: 'dark'},
};
for (const [name, {hash, until, scheme, waitMs = 500}] of Object.entries(pictures)) {
  const page = await browser.newPage({viewport: {width: 1160, height: 720}, colorScheme: scheme});
  await page.goto(served.link());
  await page.getByRole('navigation', {name: 'Views'}).waitFor();
  await page.evaluate(place => void (location.hash = place), hash);
  await page.getByText(until).first().waitFor();
  await page.waitForTimeout(waitMs);
  await page.screenshot({path: `docs/pictures/${name}.png`});
  await page.close();
}
await browser.close();
await plane.stop();
