import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {runProgram} from '#src/program/program.js';

void runProgram(controllerManagerFlags, process.argv.slice(2), async invocation =>
  (await import('./controller-manager/run.js')).runControllerManager(invocation),
);
