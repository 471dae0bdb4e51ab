import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';

const output = {
  output: {type: 'string', help: 'The format.', default: 'text', oneOf: ['text', 'json'], shorthand: 'o'},
} as const;

const rest = {...commandLogging, ...help} as const;

/** The flags of `plat ps`. */
export const psFlags = flagTable({
  program: 'plat ps',
  summary: 'Lists the planes of this user that run.',
  sections: [
    flagSection('Output', {
      all: {type: 'bool', help: 'List those that are stopped, too.', default: 'false', shorthand: 'a'},
      ...output,
      ...rest,
    }),
  ],
});

/** The flags of `plat status`. */
export const statusFlags = flagTable({
  program: 'plat status',
  summary: 'Reports the health of a plane, its components and its nodes. Ends with 1 if something is wrong.',
  positional: '[NAME]',
  completes: 'planes',
  sections: [flagSection('Output', {...output, ...rest})],
});

/** The flags of `plat logs`. */
export const logsFlags = flagTable({
  program: 'plat logs',
  summary: 'Prints the log of a plane that was started with --detach or --log-file.',
  positional: '[NAME]',
  completes: 'planes',
  sections: [
    flagSection('Output', {
      follow: {type: 'bool', help: 'Go on with what is logged later, until the plane ends.', default: 'false', shorthand: 'f'},
      tail: {type: 'int', help: 'How many of the last lines to print. -1 for all.', default: '-1', range: {min: -1}},
      ...rest,
    }),
  ],
});

/** The flags of `plat stop`. */
export const stopFlags = flagTable({
  program: 'plat stop',
  summary: 'Stops planes, and returns once they have ended.',
  positional: 'NAME...',
  completes: 'planes',
  sections: [
    flagSection('Stop', {
      all: {type: 'bool', help: 'Stop all planes that run.', default: 'false'},
      timeout: {type: 'duration', help: 'How long to wait for a plane to end.', default: '1m0s', range: {above: '0s'}},
      ...rest,
    }),
  ],
});

/** The flags of `plat delete`. */
export const deleteFlags = flagTable({
  program: 'plat delete',
  summary: 'Deletes a plane: its data, its keys, its entries in the kubeconfig file, and its place in the list. Asks before it does.',
  positional: 'NAME',
  completes: 'planes',
  sections: [
    flagSection('Deletion', {
      yes: {type: 'bool', help: 'Do not ask. Needed where there is no terminal.', default: 'false', shorthand: 'y'},
      force: {type: 'bool', help: 'Stop the plane first if it runs.', default: 'false'},
      ...rest,
    }),
  ],
});

/** The flags of `plat export`. */
export const exportFlags = flagTable({
  program: 'plat export',
  summary:
    'Writes versions, logs, metrics, health and objects of a plane to an archive, for a report of an error. It holds no secrets, tokens or keys.',
  positional: '[NAME]',
  completes: 'planes',
  sections: [
    flagSection('Output', {
      output: {type: 'path', help: 'The archive to write, which must not exist.', shownDefault: 'plat-NAME.tar.gz', shorthand: 'o'},
      ...rest,
    }),
  ],
});
