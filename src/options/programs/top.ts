import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {clusterConnection} from './client.js';

/** The flags of `plat top`. */
export const topFlags = flagTable({
  program: 'plat top',
  summary:
    'Shows what a cluster is doing on one screen of a terminal: nodes, pods, requests, controllers and the last events. Elsewhere than on a terminal it prints this once.',
  sections: [
    flagSection('View', {
      namespace: {
        type: 'string',
        help: 'Count the pods, and show the events, of this namespace only.',
        shownDefault: 'all namespaces',
        shorthand: 'n',
      },
      interval: {
        type: 'duration',
        help: 'The time between two readings, and over which rates are counted.',
        default: '2s',
        range: {min: '100ms'},
      },
      output: {
        type: 'string',
        help: 'The format. With json, one object a line and interval.',
        default: 'text',
        oneOf: ['text', 'json'],
        shorthand: 'o',
      },
      once: {type: 'bool', help: 'Print what there is after one interval, and end.', default: 'false'},
    }),
    flagSection('Connection', {
      ...clusterConnection,
      ...clientNaming,
      ...commandLogging,
      ...help,
    }),
  ],
});
