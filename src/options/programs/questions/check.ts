import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {clusterConnection} from '#src/options/programs/client.js';

/** The flags of `plat check`. */
export const checkFlags = flagTable({
  program: 'plat check',
  summary:
    'Says what would happen if files were applied: refusals, warnings, quotas, rights, and what new definitions do to stored objects. Ends with 0 if nothing was found, with 1 if something was, with 2 if it could not look.',
  positional: 'FILE|DIRECTORY|-...',
  sections: [
    flagSection('Files', {
      recursive: {type: 'bool', help: 'Read the directories below a directory too.', default: 'false', shorthand: 'R'},
      namespace: {
        type: 'string',
        help: 'The namespace of objects that name none.',
        shownDefault: 'that of the context, or default',
        shorthand: 'n',
      },
      'field-manager': {type: 'string', help: 'The field manager as which objects that are there would be applied.', default: 'kubectl'},
    }),
    flagSection('Report', {
      output: {type: 'string', help: 'The format.', default: 'text', oneOf: ['text', 'json', 'sarif'], shorthand: 'o'},
      'fail-on': {
        type: 'string',
        help: 'From which level on a finding ends the command with 1: error leaves out warnings. Notes never do.',
        default: 'warning',
        oneOf: ['warning', 'error'],
      },
    }),
    flagSection('Connection', {
      ...clusterConnection,
      ...clientNaming,
      ...commandLogging,
      ...help,
    }),
  ],
});
