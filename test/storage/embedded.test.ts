import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {storeSuite} from './suite.js';

const root = mkdtempSync(join(tmpdir(), 'plat-store-'));
let made = 0;
const fresh = (): string => join(root, String(made++), 'store');
test.after.always(() => rmSync(root, {recursive: true, force: true}));

storeSuite(test, {name: 'embedded', open: clock => openEmbeddedStore({directory: fresh(), naming: 'plat', clock})});
