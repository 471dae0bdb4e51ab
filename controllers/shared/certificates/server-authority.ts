import {contentOf, type Files} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';

export type ServerAuthorityOptions = Pick<ControllerManagerOptions, 'rootCaFile'>;

/**
 * Returns the CA bundle of the API server: that of `--root-ca-file`, else that of the manager's own connection
 * settings, which may be empty.
 */
export const serverAuthorityOf = async ({
  files,
  options: {rootCaFile},
  serverAuthority,
}: {
  readonly files: Files;
  readonly options: ServerAuthorityOptions;
  readonly serverAuthority: string;
}): Promise<string> => {
  if (!rootCaFile) return serverAuthority;
  try {
    const content = await contentOf(files, rootCaFile);
    parseCertificateBundle(content);
    return content.toString();
  } catch (error) {
    throw new Error(`--root-ca-file: error parsing root-ca-file at ${rootCaFile}: ${messageOf(error)}`, {cause: error});
  }
};
