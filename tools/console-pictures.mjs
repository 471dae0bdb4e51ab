// Takes the pictures of docs/console.md from the page in Chromium: docs/pictures/*.png. A test takes the same, and
// reads what is on them.
import {VirtualClock} from '../dist/src/base/virtual-clock.js';
import {startPlane} from '../dist/src/plane/plane.js';
import {changeDeployment, runLoop, takePictures} from '../dist/test/console/pictures.js';
import {chromiumPath, fillPlane, shownPage} from '../dist/test/console/scene.js';

const executablePath = chromiumPath();
if (!executablePath) {
  console.error('tools/console-pictures.mjs: Chromium is not installed (Debian: apt-get install chromium)');
  process.exit(1);
}
const clock = new VirtualClock();
const plane = await startPlane({listen: false, clock, nodes: 3});
await fillPlane(plane, clock);
await changeDeployment(plane, clock);
await runLoop(plane, clock);
const shown = await shownPage(plane, executablePath);
await takePictures(plane, clock, shown, {folder: 'docs/pictures', samples: 31});
await shown.browser.close();
await plane.stop();
