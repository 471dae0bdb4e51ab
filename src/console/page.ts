// The page as the build leaves it in dist/console: compressed, and with names that change with the content.

import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gunzipSync} from 'node:zlib';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Returns the folder of the page, from a compiled file or a bundle. */
const pageFolder = (): string => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'console', 'index.html.gz'))) return join(folder, 'console');
    if (folder === dirname(folder)) throw new Error('the page of the console is missing: run `make build`');
  }
};

/** The files of the page. */
export class Page {
  readonly #files = new Map<string, Buffer>();

  /** Reads the files. Throws if they are missing. */
  constructor(folder = pageFolder()) {
    for (const name of readdirSync(folder))
      if (name.endsWith('.gz')) this.#files.set(`/${name.slice(0, -'.gz'.length)}`, readFileSync(join(folder, name)));
  }

  /** Returns a file by its path; undefined if there is none. */
  response(request: ApiRequest, path: string): ApiResponse | undefined {
    const name = path === '/' ? '/index.html' : path;
    const packed = this.#files.get(name);
    if (!packed) return undefined;
    const isNamedByContent = name !== '/index.html';
    const takesGzip = String(request.headers['accept-encoding'] ?? '').includes('gzip');
    return {
      status: 200,
      headers: {
        'Cache-Control': isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache',
        Vary: 'Accept-Encoding',
        ...(takesGzip ? {'Content-Encoding': 'gzip'} : {}),
      },
      body: {
        kind: 'bytes',
        bytes: takesGzip ? packed : gunzipSync(packed),
        contentType: types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
      },
    };
  }
}
