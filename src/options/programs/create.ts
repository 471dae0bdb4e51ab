import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';

/** The flags of `plat create`. */
export const createFlags = flagTable({
  program: 'plat create',
  summary:
    'Creates a project: operator makes one with a kind, controller, test, manifests and a workflow, which runs at once. In a project, api adds a kind, or a version with its conversion, and webhook adds defaulting and validating webhooks.',
  positional: 'operator NAME | api --kind KIND | webhook --kind KIND',
  sections: [
    flagSection('Project', {
      dir: {
        type: 'path',
        help: 'The folder of the project: for operator a new or an empty one.',
        shownDefault: './NAME, for api and webhook .',
      },
      group: {type: 'string', help: 'The API group of the kind.', shownDefault: "example.com, for api that of the project's kinds"},
      kind: {type: 'string', help: 'The kind.', shownDefault: 'NAME as a singular: Backup for backups'},
      'api-version': {
        type: 'string',
        help: 'With api: the version. Another one of a kind that the project has is served beside the stored one, with a conversion.',
        default: 'v1',
      },
      plat: {
        type: 'string',
        help: "The project's dependency on plat, as package.json has it: file: and a path, a URL, or a version.",
        shownDefault: 'what the command runs from: its tarball or folder',
      },
    }),
    flagSection('Output', {...commandLogging, ...help}),
  ],
});
