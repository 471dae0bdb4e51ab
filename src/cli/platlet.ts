import {platletFlags} from '#src/options/programs/platlet.js';
import {runProgram} from '#src/program/program.js';

void runProgram(platletFlags, process.argv.slice(2), async invocation => (await import('./platlet/run.js')).runPlatlet(invocation));
