import {runManager} from '@platio/plat/operator';
import {controller} from './controller.js';

await runManager({name: 'my-operator', controllers: [controller]});
