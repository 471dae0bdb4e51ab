// The network statistics of the kernel.

import type {InterfaceStats} from '#src/api/node/stats.js';

/** Virtual interfaces, which are skipped. */
const ignored = /^(lo|veth|docker|nerdctl)/;

/** Returns the interfaces of a network namespace from `/proc/PID/net/dev`. */
export const interfacesOf = (text: string): InterfaceStats[] =>
  text.split('\n').flatMap(line => {
    const [, name = '', numbers = ''] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    if (name === '' || ignored.test(name)) return [];
    const [receivedBytes = 0, , receiveErrors = 0, , , , , , sentBytes = 0, , sendErrors = 0] = numbers.split(/\s+/).map(Number);
    return [{name, receivedBytes, receiveErrors, sentBytes, sendErrors}];
  });
