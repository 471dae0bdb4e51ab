import {readFile} from 'node:fs/promises';
import {request} from 'node:https';
import {messageOf} from '#src/base/message.js';
import type {Material, OidcProvider} from '#src/transport/settings.js';
import type {PluginResult} from './exec.js';

/** The `auth-provider` of a user's entry in a kubeconfig. All of it is unchecked input. */
export interface RawProvider {
  readonly name?: unknown;
  readonly config?: Readonly<Record<string, unknown>> | null;
}

/** Parses the provider of a kubeconfig. Throws with the message of upstream's clients. */
export const oidcProvider = (
  {name, config}: RawProvider,
  authority: (data: string | undefined, file: string | undefined) => Material | undefined,
): OidcProvider => {
  if (name !== 'oidc') throw new Error(`no Auth Provider found for name ${JSON.stringify(name ?? '')}`);
  const value = (key: string): string => (typeof config?.[key] === 'string' ? config[key] : '');
  for (const key of ['idp-issuer-url', 'client-id']) if (!value(key)) throw new Error(`Must provide ${key}`);
  const ca = authority(value('idp-certificate-authority-data') || undefined, value('idp-certificate-authority') || undefined);
  return {
    kind: 'oidc',
    issuer: value('idp-issuer-url'),
    clientId: value('client-id'),
    clientSecret: value('client-secret'),
    idToken: value('id-token'),
    refreshToken: value('refresh-token'),
    ...(ca ? {ca} : {}),
  };
};

/** A token that expires within this time is replaced. */
const expiryDelayMs = 10_000;

/**
 * Returns the current ID token, or requests a new one from the provider when it has expired. A new refresh token is kept in memory: the kubeconfig is not
 * changed.
 */
export const oidcUser = (provider: OidcProvider): ((now: number, refused: boolean) => Promise<PluginResult>) => {
  let {idToken, refreshToken} = provider;
  return async (now, refused) => {
    const end = idToken ? endOf(idToken) : undefined;
    if (!refused && end !== undefined && end - expiryDelayMs > now) return answer(idToken, end);
    if (!refreshToken) throw new Error('No valid id-token, and cannot refresh without refresh-token');
    const fresh = await refreshed(provider, refreshToken);
    idToken = fresh.idToken;
    refreshToken = fresh.refreshToken || refreshToken;
    return answer(idToken, endOf(idToken));
  };
};

const answer = (token: string, end: number): PluginResult => ({
  proof: {headers: [['authorization', `Bearer ${token}`]]},
  expiresAt: end - expiryDelayMs,
});

/** The expiry claim of a token, which is not verified: that is the server's task. */
const endOf = (token: string): number => {
  try {
    const {exp} = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {exp?: unknown};
    if (typeof exp === 'number') return exp * 1000;
  } catch {
    // Reported below.
  }
  throw new Error('ID Token is malformed: it has no expiry');
};

const refreshed = async (
  {issuer, clientId, clientSecret, ca}: OidcProvider,
  refreshToken: string,
): Promise<{idToken: string; refreshToken: string}> => {
  const trusted = ca && ('data' in ca ? ca.data : await readFile(ca.file, 'utf8'));
  const discovery = await requestJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {ca: trusted});
  const endpoint = discovery['token_endpoint'];
  if (typeof endpoint !== 'string') throw new Error("provider's discovery document names no token_endpoint");
  const form = {grant_type: 'refresh_token', refresh_token: refreshToken};
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
  // Providers differ in where they expect the client's credentials: in a header, or in the form.
  const byHeader = requestJson(endpoint, {ca: trusted, form, authorization: `Basic ${basic}`});
  const tokens = await byHeader.catch(() =>
    requestJson(endpoint, {ca: trusted, form: {...form, client_id: clientId, ...(clientSecret ? {client_secret: clientSecret} : {})}}),
  );
  const {id_token: idToken, refresh_token: next} = tokens;
  if (typeof idToken !== 'string') {
    throw new Error(
      'token response did not contain an id_token, either the scope "openid" wasn\'t requested upon login, or the provider doesn\'t support id_tokens as part of the refresh response',
    );
  }
  return {idToken, refreshToken: typeof next === 'string' ? next : ''};
};

interface OidcRequest {
  readonly ca: string | undefined;
  readonly form?: Readonly<Record<string, string>>;
  readonly authorization?: string;
}

const maxBytes = 1 << 20;
const timeoutMs = 30_000;

/** Requests a JSON object from the provider. */
const requestJson = (url: string, {ca, form, authorization}: OidcRequest): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    const failed = (cause: unknown) => reject(new Error(`${url}: ${messageOf(cause)}`, {cause}));
    const body = form && new URLSearchParams({...form}).toString();
    const headers = {
      ...(body === undefined ? {} : {'content-type': 'application/x-www-form-urlencoded'}),
      ...(authorization ? {authorization} : {}),
      accept: 'application/json',
    };
    const clientRequest = request(
      url,
      {method: body === undefined ? 'GET' : 'POST', headers, timeout: timeoutMs, ...(ca ? {ca} : {})},
      response => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          bytes += chunk.length;
          if (bytes > maxBytes) response.destroy(new Error('the answer is too long'));
        });
        response.once('error', failed);
        response.once('end', () => {
          try {
            if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.statusMessage}`);
            resolve(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
          } catch (cause) {
            failed(cause);
          }
        });
      },
    );
    clientRequest.once('timeout', () => clientRequest.destroy(new Error('no answer in time')));
    clientRequest.once('error', failed);
    clientRequest.end(body);
  });
