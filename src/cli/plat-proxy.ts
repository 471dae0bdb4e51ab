import {startProxyProgram} from './proxy/start.js';

void startProxyProgram(process.argv.slice(2));
