import {runManager} from 'plat/operator';
import {controller} from './controller.js';

await runManager({name: 'my-operator', controllers: [controller]});
