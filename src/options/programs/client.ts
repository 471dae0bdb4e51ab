import {flagSection, flagTable} from '#src/options/flag.js';
import type {OptionsOf} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';

/** Flags of the commands that connect to an API server. */
export const commandConnection = {
  platconfig: {
    type: 'path',
    help: 'The kubeconfig file: the address of the API server and the credentials.',
    shownDefault: 'the file named by KUBECONFIG, or that of a plane in ./.plat or ./.plat-plat',
    aliases: ['kubeconfig'],
  },
  master: {type: 'string', help: 'The address of the API server. Takes precedence over the file.'},
} as const;

const connection = flagSection('Connection', {
  ...commandConnection,
  ...clientNaming,
  ...commandLogging,
  ...help,
});

/** The flags of `plat certificate`. */
export const certificateFlags = flagTable({
  program: 'plat certificate',
  summary: 'Approves or denies certificate signing requests.',
  positional: 'approve|deny NAME...',
  sections: [
    connection,
    flagSection('Verdict', {force: {type: 'bool', help: 'Send the decision even if the request already has it.', default: 'false'}}),
  ],
});

export type CertificateOptions = OptionsOf<typeof certificateFlags>;

/** The flags of `plat version`. */
export const versionFlags = flagTable({
  program: 'plat version',
  summary: 'Prints the version of this program.',
  sections: [flagSection('Output', {...help})],
});
