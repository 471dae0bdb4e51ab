import {existsSync, readFileSync} from 'node:fs';
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import test from 'ava';

interface Bundled {
  readonly name: string;
  readonly version: string;
  readonly licence?: string;
  readonly text?: string;
}

interface ListedPackage {
  readonly SPDXID: string;
  readonly name: string;
  readonly versionInfo: string;
  readonly licenseDeclared: string;
  readonly licenseConcluded: string;
  readonly downloadLocation: string;
  readonly filesAnalyzed: boolean;
  readonly packageFileName?: string;
  readonly checksums?: readonly object[];
  readonly externalRefs: readonly {readonly referenceLocator: string}[];
}

interface Document {
  readonly SPDXID: string;
  readonly documentNamespace: string;
  readonly creationInfo: {readonly created: string; readonly creators: readonly string[]};
  readonly packages: readonly ListedPackage[];
  readonly hasExtractedLicensingInfos?: readonly {readonly licenseId: string; readonly extractedText: string}[];
  readonly relationships: readonly {
    readonly spdxElementId: string;
    readonly relationshipType: string;
    readonly relatedSpdxElement: string;
  }[];
}

const tool = async (file: string): Promise<unknown> => import(pathToFileURL(resolve('tools', file)).href);
const {packagesIn, formatNotice} = (await tool('notices/packages.mjs')) as {
  packagesIn: (notices: string) => readonly Bundled[];
  formatNotice: (each: object, texts: readonly string[]) => string;
};
const {spdxOf, debPurl} = (await tool('release/spdx.mjs')) as {
  spdxOf: (release: object) => Document;
  debPurl: (each: object, distribution: string) => string;
};
const {formatSums} = (await tool('release/sums.mjs')) as {formatSums: (files: readonly object[]) => string};
const {releaseTime} = (await tool('release/time.mjs')) as {releaseTime: (env: object) => number};

const notices = [
  formatNotice({name: '@scope/tool', version: '1.0.0+b', licence: '(BSD-3-Clause OR GPL-2.0)', what: ': read for types'}, ['Some terms.']),
  formatNotice({name: 'node', version: '20.19.0'}, ['Terms of its own,', 'and others.']),
  formatNotice({name: 'old', version: '2.0.0', licence: 'SEE LICENSE IN x'}, ['Old terms.']),
].join('\n');

const executable = {
  name: 'plat',
  version: '0.1.0',
  licence: 'Apache-2.0',
  file: {name: 'plat-0.1.0-linux-x64', sha256: 'ab'},
  purpose: 'APPLICATION',
  contains: packagesIn(notices),
};
const image = {
  ...executable,
  file: {name: 'plat-0.1.0-linux-x64-image.tar', sha256: 'cd'},
  purpose: 'CONTAINER',
  contains: [executable, {name: 'libstdc++6', version: '12.2.0-14', text: 'GPL with an exception', purl: 'pkg:deb/debian/x'}],
};
const release = {name: 'plat', version: '0.1.0', files: [executable, image], created: '2026-01-02T03:04:05Z'};
const document = spdxOf(release);
const packageNamed = (name: string) => document.packages.find(each => each.name === name)!;

test('a text of notices names its packages, with their licences or the text of one without a name', t => {
  t.deepEqual(packagesIn(notices), [
    {name: '@scope/tool', version: '1.0.0+b', licence: '(BSD-3-Clause OR GPL-2.0)'},
    {name: 'node', version: '20.19.0', text: 'Terms of its own,\n\nand others.'},
    {name: 'old', version: '2.0.0', licence: 'SEE LICENSE IN x'},
  ]);
});

test('the notices of the bundles are read as they are written', t => {
  const written = readFileSync('dist/bundle/THIRD-PARTY-NOTICES.txt', 'utf8');
  const found = packagesIn(written);

  t.is(found.length, written.match(/^-{80}$/gm)!.length / 2);
  t.is(found.find(({name}) => name === 'undici')?.licence, 'MIT');
});

test('the list of a release has the fields that SPDX 2.3 requires', t => {
  t.like(document, {spdxVersion: 'SPDX-2.3', dataLicense: 'CC0-1.0', SPDXID: 'SPDXRef-DOCUMENT', name: 'plat-0.1.0'});
  t.regex(document.documentNamespace, /^https:\/\/[^#]+$/);
  t.deepEqual(document.creationInfo, {created: '2026-01-02T03:04:05Z', creators: ['Tool: plat-release-0.1.0']});
  const ids = document.packages.map(({SPDXID}) => SPDXID);
  t.deepEqual([...new Set(ids)], ids);
  for (const each of document.packages) {
    t.regex(each.SPDXID, /^SPDXRef-[a-zA-Z0-9.-]+$/);
    t.like(each, {downloadLocation: 'NOASSERTION', licenseConcluded: 'NOASSERTION', copyrightText: 'NOASSERTION', filesAnalyzed: false});
  }
});

test('the list of a release describes its files with checksums, and says what each contains', t => {
  const related = document.relationships.map(each => Object.values(each).join(' '));

  t.deepEqual(related, [
    'SPDXRef-DOCUMENT DESCRIBES SPDXRef-File-plat-0.1.0-linux-x64',
    'SPDXRef-DOCUMENT DESCRIBES SPDXRef-File-plat-0.1.0-linux-x64-image.tar',
    'SPDXRef-File-plat-0.1.0-linux-x64 CONTAINS SPDXRef-Package-scope-tool-1.0.0-b',
    'SPDXRef-File-plat-0.1.0-linux-x64 CONTAINS SPDXRef-Package-node-20.19.0',
    'SPDXRef-File-plat-0.1.0-linux-x64 CONTAINS SPDXRef-Package-old-2.0.0',
    'SPDXRef-File-plat-0.1.0-linux-x64-image.tar CONTAINS SPDXRef-File-plat-0.1.0-linux-x64',
    'SPDXRef-File-plat-0.1.0-linux-x64-image.tar CONTAINS SPDXRef-Package-libstdc--6-12.2.0-14',
  ]);
  t.deepEqual(packageNamed('plat').checksums, [{algorithm: 'SHA256', checksumValue: 'ab'}]);
  t.deepEqual(packageNamed('plat').packageFileName, 'plat-0.1.0-linux-x64');
});

test('a licence that SPDX does not list is in the document with its text', t => {
  t.is(packageNamed('@scope/tool').licenseDeclared, '(BSD-3-Clause OR GPL-2.0)');
  t.is(packageNamed('node').licenseDeclared, 'LicenseRef-node');
  t.deepEqual(
    document.hasExtractedLicensingInfos!.map(({licenseId, extractedText}) => [licenseId, extractedText]),
    [
      ['LicenseRef-node', 'Terms of its own,\n\nand others.'],
      ['LicenseRef-old', 'The package names its licence as "SEE LICENSE IN x".'],
      ['LicenseRef-libstdc--6', 'GPL with an exception'],
    ],
  );
});

test('packages have URLs without the name of a registry', t => {
  t.is(packageNamed('@scope/tool').externalRefs[0]!.referenceLocator, 'pkg:npm/%40scope/tool@1.0.0%2Bb');
  t.is(packageNamed('libstdc++6').externalRefs[0]!.referenceLocator, 'pkg:deb/debian/x');
  t.is(
    debPurl({name: 'libstdc++6', version: '1:12.2.0-14+deb12u1', arch: 'amd64'}, 'debian'),
    'pkg:deb/debian/libstdc%2B%2B6@1%3A12.2.0-14%2Bdeb12u1?arch=amd64',
  );
});

test('the same files have the same document, and others another namespace', t => {
  t.deepEqual(spdxOf(release), document);
  t.not(spdxOf({...release, created: '2026-01-02T03:04:06Z'}).documentNamespace, document.documentNamespace);
});

test('checksums are in the order of names, as sha256sum checks them', t => {
  t.is(
    formatSums([
      {name: 'b', sha256: '22'},
      {name: 'a', sha256: '11'},
    ]),
    '11  a\n22  b\n',
  );
});

test('a release states SOURCE_DATE_EPOCH, or the time of the commit', t => {
  t.is(releaseTime({SOURCE_DATE_EPOCH: '7'}), 7);
  t.throws(() => releaseTime({SOURCE_DATE_EPOCH: 'today'}), {message: 'SOURCE_DATE_EPOCH must be a number of seconds, not "today"'});
  if (existsSync('.git')) t.true(releaseTime({}) > 1.6e9);
});
