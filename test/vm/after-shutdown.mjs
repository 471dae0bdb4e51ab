// Runs in the virtual machine while it shuts down, after the delay: prints in which order pods have ended.

import {existsSync, readFileSync, writeFileSync} from 'node:fs';

const say = line => writeFileSync('/dev/console', `${line}\n`);

const order = existsSync('/var/log/order/pods') ? readFileSync('/var/log/order/pods', 'utf8').trim().split('\n') : [];
const names = order.map(line => line.split(' ')[0]).join(' ');
say(
  names === 'normal critical'
    ? `PASS graceful shutdown: the pods have ended in order: ${order.join(', ')}`
    : `FAIL graceful shutdown: the pods have ended like this: ${order.join(', ') || 'none has'}`,
);
const log = existsSync('/var/log/plat.log') ? readFileSync('/var/log/plat.log', 'utf8') : '';
for (const line of log
  .split('\n')
  .filter(each => /logind|shut|inhibit/i.test(each))
  .slice(-12))
  say(`  ${line}`);
