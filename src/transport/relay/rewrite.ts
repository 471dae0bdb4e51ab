import {pipeline, type Readable, type Transform} from 'node:stream';
import {createDeflateRaw, createGunzip, createGzip, createInflateRaw} from 'node:zlib';
import type {ApiResponse} from '#src/api/request.js';
import {htmlLinks} from './html-links.js';

/** The addresses of a backend and of the proxy in front of it. */
export interface ProxyAddress {
  /** The path here that stands for `/` there. */
  readonly before: string;
  /** `host:port` of the backend. */
  readonly backend: string;
  /** The host of the client's request. */
  readonly proxyHost: string;
}

const parts = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/;

/** A link as it is reached from outside. Those that are relative, or lead to somebody else, stay. */
export const rewriteLink = (link: string, {before, backend, proxyHost}: ProxyAddress): string => {
  const match = parts.exec(link);
  if (!match) return link;
  const [, scheme = '', authority, path = '', query = '', fragment = ''] = match;
  const host = authority?.slice(authority.lastIndexOf('@') + 1) ?? '';
  const leadsElsewhere = host !== '' && host !== backend && host !== proxyHost;
  if (leadsElsewhere || !path.startsWith('/')) return link;
  const kept = host !== '' && host === proxyHost ? `${scheme ? `${scheme}:` : ''}//${authority}` : '';
  return `${kept}${path.startsWith(before) ? path : before + path}${query}${fragment}`;
};

type Codec = () => readonly [Transform, Transform] | readonly [];

/** How bodies are read and written again by their coding. One that is not known is not looked into. */
const codecs: Readonly<Record<string, Codec>> = {
  '': () => [],
  gzip: () => [createGunzip(), createGzip()],
  deflate: () => [createInflateRaw(), createDeflateRaw()],
};

/** An answer whose links lead through here again: where it sends the caller, and what a page of HTML points to. */
export const rewriteAnswer = (answer: ApiResponse, front: ProxyAddress): ApiResponse => {
  const {headers, body} = answer;
  if (body.kind !== 'stream') return answer;
  const {Location: location} = headers;
  if (typeof location === 'string') return {...answer, headers: {...headers, Location: rewriteLink(location, front)}};
  const type = String(headers['Content-Type'] ?? '').split(';')[0]!.trim();
  const codec = type === 'text/html' ? codecs[String(headers['Content-Encoding'] ?? '')] : undefined;
  if (!codec) return answer;
  const {'Content-Length': _, ...others} = headers;
  const [decode, encode] = codec();
  const links = htmlLinks(link => rewriteLink(link, front));
  const steps: [Readable, ...Transform[]] = decode && encode ? [body.source, decode, links, encode] : [body.source, links];
  const source = pipeline(steps, () => {}) as unknown as Readable;
  return {...answer, headers: others, body: {kind: 'stream', source}};
};
