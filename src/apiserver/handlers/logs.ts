// `/logs`, the files of the log folder (`--enable-logs-handler`): directories as pages of links, files with ranges and
// modification times as Go's file server answers. Links are followed only within the folder, and only regular files are
// opened.

import {constants, type Stats} from 'node:fs';
import {open, readdir, realpath, type FileHandle} from 'node:fs/promises';
import {join} from 'node:path';
import {header, type ApiResponse} from '#src/api/request.js';
import {sniffedBytes, sniffedType} from '#src/base/files/sniffed-type.js';
import {isWithin} from '#src/base/files/within.js';
import {htmlEscaped} from '#src/base/text/html.js';
import type {RequestContext} from '#src/apiserver/request/context.js';
import {pageNotFound, type Route} from './route.js';

export const systemLogFolder = '/var/log';

const maxNameLength = 255;

/** Returns the routes of a folder's log files. */
export const logRoutes = (folder: string): Route[] => {
  const handler = (context: RequestContext): Promise<ApiResponse> => serve(folder, context);
  return [
    {path: '/logs', methods: ['get'], handler},
    {path: '/logs/*', methods: ['get'], handler},
  ];
};

const plain = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): ApiResponse => ({
  status,
  headers: {'X-Content-Type-Options': 'nosniff', ...headers},
  body: {kind: 'bytes', bytes: `${text}\n`, contentType: 'text/plain; charset=utf-8'},
});

const redirect = (location: string): ApiResponse => ({status: 301, headers: {Location: location}, body: {kind: 'empty'}});

const serve = async (folder: string, context: RequestContext): Promise<ApiResponse> => {
  const {path} = context.info;
  const segments = path.split('/').slice(2);
  if (segments.includes('..') || path.includes('\0')) return plain(400, 'invalid URL path');
  if (segments.some(segment => Buffer.byteLength(segment) > maxNameLength)) return plain(404, 'file not found');
  if (path.endsWith('/index.html')) return redirect('./');
  try {
    return await served(await within(folder, segments), context);
  } catch (error) {
    const {code = ''} = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR'].includes(code)) return pageNotFound();
    if (['EACCES', 'EPERM', 'ELOOP', 'ENXIO'].includes(code)) return plain(403, '403 Forbidden');
    return plain(500, '500 Internal Server Error');
  }
};

/** Returns the real path of a file in the folder. Throws `EACCES` for a link that leads out of it. */
const within = async (folder: string, segments: readonly string[]): Promise<string> => {
  const root = await realpath(folder);
  const path = await realpath(join(root, ...segments));
  if (isWithin(path, root)) return path;
  throw Object.assign(new Error('the link leads out of the folder'), {code: 'EACCES'});
};

/** Opening a pipe would wait for its writer. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const served = async (path: string, context: RequestContext): Promise<ApiResponse> => {
  const file = await open(path, flags);
  let isStreaming = false;
  try {
    const stats = await file.stat();
    if (!stats.isFile() && !stats.isDirectory()) return plain(403, '403 Forbidden');
    const requested = context.info.path;
    if (stats.isDirectory() && !requested.endsWith('/')) return redirect(`${requested.slice(requested.lastIndexOf('/') + 1)}/`);
    if (!isModified(stats, context)) return {status: 304, headers: {'Last-Modified': stats.mtime.toUTCString()}, body: {kind: 'empty'}};
    if (stats.isDirectory()) return await listing(path, stats);
    const response = await content(file, stats, context);
    isStreaming = response.body.kind === 'stream';
    return response;
  } finally {
    if (!isStreaming) await file.close();
  }
};

const secondsOf = (date: Date): number => Math.floor(date.getTime() / 1000);

const isModified = ({mtime}: Stats, {request}: RequestContext): boolean => {
  const since = Date.parse(header(request, 'if-modified-since') ?? '');
  return Number.isNaN(since) || secondsOf(mtime) > since / 1000;
};

const listing = async (path: string, {mtime}: Stats): Promise<ApiResponse> => {
  const entries = await readdir(path, {withFileTypes: true});
  const names = entries.map(entry => entry.name + (entry.isDirectory() ? '/' : '')).sort();
  const links = names.map(name => {
    const href = name.split('/').map(encodeURIComponent).join('/');
    return `<a href="${href}">${htmlEscaped(name)}</a>\n`;
  });
  return {
    status: 200,
    headers: {'Last-Modified': mtime.toUTCString()},
    body: {
      kind: 'bytes',
      contentType: 'text/html; charset=utf-8',
      bytes: `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join('')}</pre>\n`,
    },
  };
};

/** A range of bytes, the last included. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Returns the requested range of a file; undefined for the whole file, which several ranges receive too. */
const rangeOf = ({size, mtime}: Stats, {request}: RequestContext): Range | 'invalid' | undefined => {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header(request, 'range') ?? '') ?? [];
  const only = header(request, 'if-range');
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (only !== undefined && only !== mtime.toUTCString()) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return start >= size || end < start ? 'invalid' : {start, end};
};

const content = async (file: FileHandle, stats: Stats, context: RequestContext): Promise<ApiResponse> => {
  const {size, mtime} = stats;
  const range = rangeOf(stats, context);
  if (range === 'invalid') return plain(416, 'invalid range: failed to overlap', {'Content-Range': `bytes */${size}`});
  const {start, end} = range ?? {start: 0, end: size - 1};
  const headers = {
    'Accept-Ranges': 'bytes',
    'Content-Length': String(end - start + 1),
    'Content-Type': await typeOf(file),
    'Last-Modified': mtime.toUTCString(),
    'X-Content-Type-Options': 'nosniff',
    ...(range ? {'Content-Range': `bytes ${start}-${end}/${size}`} : {}),
  };
  if (size === 0) return {status: 200, headers, body: {kind: 'empty'}};
  return {status: range ? 206 : 200, headers, body: {kind: 'stream', source: file.createReadStream({start, end})}};
};

const typeOf = async (file: FileHandle): Promise<string> => {
  const {buffer, bytesRead} = await file.read(Buffer.alloc(sniffedBytes), 0, sniffedBytes, 0);
  return sniffedType(buffer.subarray(0, bytesRead));
};
