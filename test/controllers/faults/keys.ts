import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {planeMaterial} from '#src/plane/inputs/material.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-faults-'));
const {files} = await planeMaterial(directory, new VirtualClock());
test.after.always(() => rmSync(directory, {recursive: true, force: true}));

/** The flags with the keys that controllers need. */
export const planeKeys: readonly string[] = [
  `--root-ca-file=${files.ca}`,
  `--service-account-private-key-file=${files.serviceAccountKey}`,
  `--cluster-signing-cert-file=${files.ca}`,
  `--cluster-signing-key-file=${files.caKey}`,
];
