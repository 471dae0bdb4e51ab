import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {runProgram} from '#src/program/program.js';

void runProgram(apiserverFlags, process.argv.slice(2), async invocation => (await import('./apiserver.js')).runApiServer(invocation));
