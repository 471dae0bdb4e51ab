import {createServer, type Server} from 'node:https';
import type {AddressInfo} from 'node:net';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {authorityPem} from '#src/pki/authority.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {jsonWebKey, signToken, tokenKey, type TokenKey} from '#src/pki/keys/token.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';

/** An OpenID Connect provider on this machine, over HTTPS. */
export interface TestIssuer extends AsyncDisposable {
  readonly url: string;
  readonly ca: string;
  /** The file that holds `ca`. */
  readonly caFile: string;
  /** The paths of all requests. */
  readonly requests: string[];
  /** The last credentials presented at each path. */
  readonly credentials: Map<string, string | undefined>;
  /** The answer to a path other than those of the provider; or instead of them. */
  readonly answers: Map<string, {readonly status?: number; readonly headers?: Record<string, string>; readonly body: string}>;
  key: TokenKey;
  /** Replaces the key by a new one, which the key set holds from now on. */
  rotate(): Promise<void>;
  /**
   * A token with these claims, besides issuer, audience `me`, subject `jane` and an expiry in an hour; undefined leaves
   * a claim out.
   */
  token(claims?: Record<string, unknown>, key?: TokenKey): string;
}

export const configurationFile = (content: unknown): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-authn-')), 'configuration.yaml');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
};

/** Keys of providers that are gone. Making one takes longer than all else that a test of tokens does. */
const free: TokenKey[] = [];

const aKey = async (): Promise<TokenKey> => free.pop() ?? tokenKey(await generatePrivateKey({kind: 'rsa'}));

/** Starts a provider. `now` is the time by which its tokens are issued. */
export const anIssuer = async (now: () => number): Promise<TestIssuer> => {
  const authority = await anAuthority();
  const pair = await aPair(authority, {commonName: 'localhost'}, 'server auth');
  const ca = authorityPem(authority).certificate;
  const requests: string[] = [];
  const credentials: TestIssuer['credentials'] = new Map();
  const answers: TestIssuer['answers'] = new Map();
  const server: Server = createServer(pair, ({url: path = '', headers: {authorization}}, response) => {
    requests.push(path);
    credentials.set(path, authorization);
    const document = {issuer: issuer.url, jwks_uri: `${issuer.url}/keys`};
    const own: Record<string, unknown> = {
      '/.well-known/openid-configuration': document,
      '/discovery': document,
      '/keys': {keys: [jsonWebKey(issuer.key)]},
    };
    const {status, headers, body} = answers.get(path) ?? {
      status: path in own ? 200 : 404,
      headers: {},
      body: JSON.stringify(own[path] ?? {}),
    };
    response.writeHead(status ?? 200, {'content-type': 'application/json', ...headers}).end(body);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const keys = [await aKey()];
  const issuer: TestIssuer = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca,
    caFile: configurationFile(ca),
    requests,
    credentials,
    answers,
    key: keys[0]!,
    async rotate() {
      keys.push((issuer.key = await aKey()));
    },
    token(claims = {}, key = issuer.key) {
      const seconds = Math.floor(now() / 1000);
      const all = {iss: issuer.url, aud: ['me'], sub: 'jane', iat: seconds, exp: seconds + 3600, ...claims};
      return signToken(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)), key);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
      free.push(...keys.splice(0));
    },
  };
  return issuer;
};
