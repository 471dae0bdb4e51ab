import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {clusterConnection} from '#src/options/programs/client.js';

/** The flags of `plat why`. */
export const whyFlags = flagTable({
  program: 'plat why',
  summary:
    'Says what an object waits for: the chain from it to the one rule that blocks, since when, and what would end it. Ends with 0 if nothing blocks it, with 2 if something does, and with 1 after an error.',
  positional: 'KIND NAME | KIND/NAME',
  sections: [
    flagSection('Object', {
      namespace: {type: 'string', help: 'The namespace of the object.', shownDefault: 'that of the context, or default', shorthand: 'n'},
      output: {type: 'string', help: 'The format.', default: 'text', oneOf: ['text', 'json'], shorthand: 'o'},
    }),
    flagSection('Connection', {
      ...clusterConnection,
      ...clientNaming,
      ...commandLogging,
      ...help,
    }),
  ],
});
