// HTTPS requests to the issuers of tokens: discovery documents, key sets and distributed claims. Responses are small
// and wholly read; redirects are followed.

import type {Clock} from '#src/base/clock.js';
import type {Dial, TargetTls} from '#src/transport/dial.js';
import type {CallResult} from '#src/transport/http1/calls.js';
import {singleCall} from '#src/transport/http1/single-call.js';
import {readAnchors} from '#src/transport/tls-handshake.js';

export interface IssuerCallsOptions {
  readonly dial: Dial;
  readonly clock: Clock;
  /** The trusted CAs in PEM; by default the system's. */
  readonly certificateAuthority?: string | undefined;
  /** Aborts calls in progress. */
  readonly signal: AbortSignal;
}

/** Gets a document of an issuer. Rejects with the reason as Go's client words it. */
export type GetDocument = (url: string, headers?: Readonly<Record<string, string>>) => Promise<CallResult>;

const timeoutMs = 30_000;
const maxBytes = 1 << 20;
const maxRedirects = 10;

/** Returns the calls to one issuer. Calls are rare: no connection is kept. */
export const issuerCalls = ({dial, clock, certificateAuthority, signal}: IssuerCallsOptions): GetDocument => {
  const tls: TargetTls = certificateAuthority ? {anchors: readAnchors(certificateAuthority)} : {};
  return async (text, headers = {}) => {
    const deadline = clock.monotonic() + timeoutMs;
    let url = checkedUrl(text);
    for (let redirects = 0; ; redirects++) {
      const response = await singleCall(url, {
        headers,
        tls,
        dial,
        clock,
        signal,
        maxBytes,
        timeoutMs: Math.max(0, deadline - clock.monotonic()),
      }).catch((cause: Error) => {
        throw new Error(`Get ${JSON.stringify(url.href)}: ${cause.message}`, {cause});
      });
      const location = response.header('location');
      if (![301, 302, 303, 307, 308].includes(response.status) || !location) return response;
      if (redirects === maxRedirects) throw new Error(`Get ${JSON.stringify(url.href)}: stopped after ${maxRedirects} redirects`);
      const next = checkedUrl(new URL(location, url).href);
      // Credentials go to no other host.
      if (next.host !== url.host) headers = {};
      url = next;
    }
  };
};

const checkedUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') throw new Error(`Get ${JSON.stringify(text)}: the URL scheme must be https`);
  return url;
};
