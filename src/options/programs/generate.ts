import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {commandConnection} from './client.js';

/** The flags of `plat generate`. */
export const generateFlags = flagTable({
  program: 'plat generate',
  summary:
    'Writes TypeScript from custom resource definitions (types, from files, folders or a cluster), definitions from TypeScript with tags in its comments (crds), and roles of an operator from recordings of its tests (rbac).',
  positional: 'types [FILE|FOLDER...] | crds FILE|FOLDER... | rbac FILE|FOLDER...',
  sections: [
    flagSection('Files', {
      out: {
        type: 'path',
        help: 'The folder that the files are written to.',
        shownDefault: 'generated for types, crds for definitions, manifests for rbac',
      },
      check: {
        type: 'bool',
        help: 'Write nothing, and fail if a file in the folder is missing or differs from what would be written.',
        default: 'false',
      },
      'max-description-length': {
        type: 'int',
        help: 'With crds: the most characters of a description, which ends after a sentence then. 0 leaves descriptions out, which the types of pods are mostly made of; -1 keeps them as they are.',
        default: '-1',
        range: {min: -1},
      },
    }),
    flagSection('Roles', {
      name: {type: 'string', help: 'With rbac: the name of the service account and its roles.', default: ''},
      namespace: {type: 'string', help: 'With rbac: the namespace of the service account.', shownDefault: 'the name'},
    }),
    flagSection('Connection', {
      ...commandConnection,
      naming: {
        ...clientNaming.naming,
        help: 'With types from a cluster: the naming on the wire, or auto to detect that of the server. With crds and rbac: the naming of what is written; auto is kubernetes.',
      },
      ...commandLogging,
      ...help,
    }),
  ],
});
