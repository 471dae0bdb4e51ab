import {dnsFlags} from '#src/options/programs/dns.js';
import {runProgram} from '#src/program/program.js';

void runProgram(dnsFlags, process.argv.slice(2), async invocation => (await import('./dns/run.js')).runDns(invocation));
