import {mkdtempSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import type {Store} from '#src/storage/store.js';

export const root = mkdtempSync(join(tmpdir(), 'plat-store-'));
let made = 0;
export const fresh = (): string => join(root, String(made++), 'store');
export const open = (directory: string, clock = new VirtualClock()): Promise<Store> =>
  openEmbeddedStore({directory, naming: 'plat', clock});
