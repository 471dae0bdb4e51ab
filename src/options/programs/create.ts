import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';

/** The flags of `plat create`. */
export const createFlags = flagTable({
  program: 'plat create',
  summary:
    'Creates a project: operator makes one with a kind, its definition, a controller, a test, manifests, a Containerfile and a workflow, which runs at once.',
  positional: 'operator NAME',
  sections: [
    flagSection('Project', {
      dir: {type: 'path', help: 'The folder of the project, which must be new or empty.', shownDefault: './NAME'},
      group: {type: 'string', help: 'The API group of the kind.', default: 'example.com'},
      kind: {type: 'string', help: 'The kind.', shownDefault: 'NAME as a singular: Backup for backups'},
      plat: {
        type: 'string',
        help: "The project's dependency on plat, as package.json has it: file: and a path, a URL, or a version.",
        shownDefault: 'what the command runs from: its tarball or folder',
      },
    }),
    flagSection('Output', {...commandLogging, ...help}),
  ],
});
