import {readFile} from 'node:fs/promises';
import {STATUS_CODES} from 'node:http';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {TargetTls} from '#src/transport/dial.js';
import {environmentDialer} from '#src/transport/environment-proxy.js';
import {singleCall} from '#src/transport/http1/single-call.js';
import {systemNetwork} from '#src/transport/network.js';
import type {OidcProvider} from '#src/transport/settings.js';
import type {PluginResult} from './exec.js';

/** A token that expires within this time is replaced. */
const expiryDelayMs = 10_000;

/**
 * Returns the current ID token, or requests a new one from the provider when it has expired. A new refresh token is
 * kept in memory: the kubeconfig is not changed.
 */
export const oidcUser = (provider: OidcProvider, clock: Clock): ((now: number, refused: boolean) => Promise<PluginResult>) => {
  let {idToken, refreshToken} = provider;
  return async (now, refused) => {
    const end = idToken ? endOf(idToken) : undefined;
    if (!refused && end !== undefined && end - expiryDelayMs > now) return answer(idToken, end);
    if (!refreshToken) throw new Error('No valid id-token, and cannot refresh without refresh-token');
    const fresh = await refreshed(provider, refreshToken, clock);
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
  clock: Clock,
): Promise<{idToken: string; refreshToken: string}> => {
  const trusted = ca && ('data' in ca ? ca.data : await readFile(ca.file, 'utf8'));
  const to = {clock, tls: {ca: trusted}};
  const discovery = await requestJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, to);
  const endpoint = discovery['token_endpoint'];
  if (typeof endpoint !== 'string') throw new Error("provider's discovery document names no token_endpoint");
  const form = {grant_type: 'refresh_token', refresh_token: refreshToken};
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
  // Providers differ in where they expect the client's credentials: in a header, or in the form.
  const byHeader = requestJson(endpoint, {...to, form, authorization: `Basic ${basic}`});
  const tokens = await byHeader.catch(() =>
    requestJson(endpoint, {...to, form: {...form, client_id: clientId, ...(clientSecret ? {client_secret: clientSecret} : {})}}),
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
  readonly clock: Clock;
  readonly tls: TargetTls;
  readonly form?: Readonly<Record<string, string>>;
  readonly authorization?: string;
}

const maxBytes = 1 << 20;
const timeoutMs = 30_000;

/** Requests a JSON object from the provider. */
const requestJson = async (url: string, {clock, tls, form, authorization}: OidcRequest): Promise<Record<string, unknown>> => {
  try {
    const {status, body} = await singleCall(new URL(url), {
      method: form ? 'POST' : 'GET',
      headers: {
        ...(form ? {'content-type': 'application/x-www-form-urlencoded'} : {}),
        ...(authorization ? {authorization} : {}),
        accept: 'application/json',
      },
      body: form ? new URLSearchParams({...form}).toString() : '',
      tls,
      dial: environmentDialer(systemNetwork(clock), clock),
      clock,
      timeoutMs,
      maxBytes,
    });
    if (status !== 200) throw new Error(`${status} ${STATUS_CODES[status] ?? ''}`.trimEnd());
    return JSON.parse(body.toString()) as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`${url}: ${messageOf(cause)}`, {cause});
  }
};
