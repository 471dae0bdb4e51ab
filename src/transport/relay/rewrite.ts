import {pipeline, type Readable, type Transform} from 'node:stream';
import {createDeflateRaw, createGunzip, createGzip, createInflateRaw} from 'node:zlib';
import type {ApiResponse} from '#src/api/request.js';
import {htmlLinks} from './html-links.js';

/** The addresses of a backend and of the proxy in front of it. */
export interface ProxyAddress {
  /** The path of this server that is mapped to `/` of the backend. */
  readonly before: string;
  /** `host:port` of the backend. */
  readonly backend: string;
  /** The host of the client's request. */
  readonly proxyHost: string;
}

const parts = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#[^]*)?$/;

/** A link in its external form. Relative ones, and those to other servers, are unchanged. */
export const rewriteLink = (link: string, {before, backend, proxyHost}: ProxyAddress): string => {
  const match = parts.exec(link);
  if (!match) return link;
  const [, scheme = '', authority, path = '', query = '', fragment = ''] = match;
  const host = authority?.slice(authority.lastIndexOf('@') + 1) ?? '';
  const leadsElsewhere = host !== '' && host !== backend && host !== proxyHost;
  if (leadsElsewhere || !path.startsWith('/')) return link;
  const prefix = host !== '' && host === proxyHost ? `${scheme ? `${scheme}:` : ''}//${authority}` : '';
  return `${prefix}${path.startsWith(before) ? path : before + path}${query}${fragment}`;
};

type Codec = () => readonly [Transform, Transform] | readonly [];

/** Decoding and encoding of bodies by content coding. Bodies with other codings are not rewritten. */
const codecs: Readonly<Record<string, Codec>> = {
  '': () => [],
  gzip: () => [createGunzip(), createGzip()],
  deflate: () => [createInflateRaw(), createDeflateRaw()],
};

/** Rewrites the links of a response so that they lead through this server: those of redirects, and of HTML pages. */
export const rewriteResponse = (answer: ApiResponse, front: ProxyAddress): ApiResponse => {
  const {headers, body} = answer;
  if (body.kind !== 'stream') return answer;
  const {Location: location} = headers;
  if (typeof location === 'string') return {...answer, headers: {...headers, Location: rewriteLink(location, front)}};
  const type = String(headers['Content-Type'] ?? '')
    .split(';')[0]!
    .trim();
  const codec = type === 'text/html' ? codecs[String(headers['Content-Encoding'] ?? '')] : undefined;
  if (!codec) return answer;
  const {'Content-Length': _, ...others} = headers;
  const [decode, encode] = codec();
  const links = htmlLinks(link => rewriteLink(link, front));
  const steps: [Readable, ...Transform[]] = decode && encode ? [body.source, decode, links, encode] : [body.source, links];
  const source = pipeline(steps, () => {}) as unknown as Readable;
  return {...answer, headers: others, body: {kind: 'stream', source}};
};
