import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';

/** The forms of a package, in the order in which they are written. */
export const packageFormats = ['install', 'helm', 'olm'] as const;

/** The flags of `plat package`. */
export const packageFlags = flagTable({
  program: 'plat package',
  summary:
    'Writes what ships the operator of a project, from its package.json and its manifests: one file to apply (install.yaml), a Helm chart (chart), and a bundle for the Operator Lifecycle Manager (bundle, bundle.Dockerfile).',
  positional: '[DIRECTORY]',
  sections: [
    flagSection('Package', {
      version: {type: 'string', help: 'The version of the package, such as 1.2.3.', shownDefault: 'that of package.json'},
      image: {
        type: 'string',
        help: 'The image of the operator, such as registry.example.com/backups:1.2.3.',
        shownDefault: 'that of the Deployment, with the version as its tag if it has none',
      },
      format: {
        type: 'strings',
        help: `What is written, comma separated: ${packageFormats.join(', ')}.`,
        default: packageFormats.join(','),
        oneOf: packageFormats,
      },
      channel: {type: 'string', help: 'With olm: the channel of the bundle, also the default one.', default: 'alpha'},
      output: {type: 'path', help: 'The folder that the files are written to.', shownDefault: 'package in the directory', shorthand: 'o'},
      check: {
        type: 'bool',
        help: 'Write nothing, and fail if a file in the folder is missing or differs from what would be written.',
        default: 'false',
      },
    }),
    flagSection('Output', {...commandLogging, help: help.help}),
  ],
});
