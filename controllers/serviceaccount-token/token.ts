import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Secret, ServiceAccount} from '#src/api/types.js';
import {contentOf, type Files} from '#src/base/files/files.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {parseSigningKey} from '#src/pki/keys/token-keys.js';
import {signToken, type TokenKey} from '#src/pki/keys/token.js';
import {messageOf} from '#src/base/message.js';

/** What goes into every token secret besides its token. */
export interface TokenMaterial {
  readonly key: TokenKey;
  /** The CA bundle of the API server; empty if unknown. */
  readonly authority: string;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Creates a token without expiry, valid as long as its secret and its account exist. */
const secretToken = (
  {metadata: account = {}}: Frozen<ServiceAccount>,
  {metadata: secret = {}}: Frozen<Secret>,
  naming: Naming,
  key: TokenKey,
): string => {
  const {namespace = '', name = '', uid = ''} = account;
  const claim = (what: string) => naming.key(`serviceaccount/${what}`);
  const claims = {
    iss: naming.secretTokenIssuer,
    sub: naming.serviceAccountUser(namespace, name),
    [claim('namespace')]: namespace,
    [claim('secret.name')]: secret.name,
    [claim('service-account.name')]: name,
    [claim('service-account.uid')]: uid,
  };
  return signToken(claims, key);
};

/** Whether a secret lacks some of its data. */
export const isIncomplete = ({data = {}}: Frozen<Secret>, {authority}: TokenMaterial): boolean =>
  !data['token'] || !data['namespace'] || (authority !== '' && data['ca.crt'] !== base64(authority));

/** Returns the secret with all data. */
export const completed = (secret: Secret, account: Frozen<ServiceAccount>, naming: Naming, {key, authority}: TokenMaterial): Secret => {
  const {metadata = {}} = secret;
  const data = {...secret.data};
  if (authority) data['ca.crt'] = base64(authority);
  data['namespace'] ||= base64(metadata.namespace ?? '');
  data['token'] ||= base64(secretToken(account, secret, naming, key));
  const annotations = {
    ...metadata.annotations,
    [naming.key('service-account.name')]: account.metadata?.name ?? '',
    [naming.key('service-account.uid')]: account.metadata?.uid ?? '',
  };
  return {...secret, metadata: {...metadata, annotations}, data};
};

/** Reads the files of the flags. Throws a one-line error with flag and file. */
export const tokenMaterial = async (
  files: Files,
  keyFile: string,
  authorityFile: string,
  serverAuthority: string,
): Promise<TokenMaterial> => {
  const read = async <T>(flag: string, path: string, parse: (content: Buffer) => T): Promise<T> => {
    try {
      return parse(await contentOf(files, path));
    } catch (error) {
      throw new Error(`--${flag}: ${path}: ${messageOf(error)}`, {cause: error});
    }
  };
  const bundle = (content: Buffer) => {
    parseCertificateBundle(content);
    return content.toString();
  };
  return {
    key: await read('service-account-private-key-file', keyFile, parseSigningKey),
    authority: authorityFile ? await read('root-ca-file', authorityFile, bundle) : serverAuthority,
  };
};
