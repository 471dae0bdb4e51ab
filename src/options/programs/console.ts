import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clusterConnection} from './client.js';

/** The flags of `plat console`. */
export const consoleFlags = flagTable({
  program: 'plat console',
  summary:
    'Serves a page that shows a cluster and changes it with the rights of the connection settings, on this machine only, until it is stopped. Prints a link that opens the page once.',
  sections: [
    flagSection('Page', {
      address: {type: 'ip', help: 'The loopback address of the page.', default: '127.0.0.1'},
      port: {type: 'port', help: 'The port of the page. 0 selects a free one.', default: '0'},
      open: {type: 'bool', help: 'Open the link in the browser of this desktop.', default: 'false'},
    }),
    flagSection('Connection', {
      ...clusterConnection,
      ...commandLogging,
      ...help,
    }),
  ],
});
