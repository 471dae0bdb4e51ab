import {apiserverFlags} from '#src/options/apiserver.js';
import {runProgram} from './program.js';

await runProgram(apiserverFlags, process.argv.slice(2), async invocation => (await import('./apiserver.js')).runApiServer(invocation));
