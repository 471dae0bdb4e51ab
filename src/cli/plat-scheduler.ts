import {schedulerFlags} from '#src/options/programs/scheduler.js';
import {runProgram} from '#src/program/program.js';

void runProgram(schedulerFlags, process.argv.slice(2), async invocation => (await import('./scheduler.js')).runScheduler(invocation));
