import {storage} from '#src/options/apiserver/storage.js';
import {flagSection, flagTable, type OptionsOf} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';

const {
  'kvstore-servers': servers,
  'kvstore-cafile': caFile,
  'kvstore-certfile': certFile,
  'kvstore-keyfile': keyFile,
  'kvstore-prefix': prefix,
  'storage-media-type': mediaType,
} = storage.rows;

const place = flagSection('Store', {
  'data-dir': {
    type: 'path',
    help: 'The data directory of a plane: its embedded store is below it.',
    shownDefault: './.plat unless another store is named',
    excludes: ['store-dir', 'kvstore-servers'],
  },
  'store-dir': {
    type: 'path',
    help: 'The directory of an embedded store itself, as --data-dir of plat-apiserver.',
    excludes: ['kvstore-servers'],
  },
  'kvstore-servers': servers,
  'kvstore-cafile': caFile,
  'kvstore-certfile': certFile,
  'kvstore-keyfile': keyFile,
  'kvstore-prefix': prefix,
  'storage-media-type': mediaType,
});

const target = flagSection('Copying', {
  'to-data-dir': {
    type: 'path',
    help: 'With copy: the data directory of a new plane.',
    excludes: ['to-store-dir', 'to-kvstore-servers'],
  },
  'to-store-dir': {type: 'path', help: 'With copy: the directory of a new embedded store itself.', excludes: ['to-kvstore-servers']},
  'to-kvstore-servers': {
    ...servers,
    help: 'With copy: servers with nothing below --kvstore-prefix. The files for connections are those of --kvstore-servers.',
  },
});

/** The flags of `plat snapshot`. */
export const snapshotFlags = flagTable({
  program: 'plat snapshot',
  summary: 'Saves, checks and restores the data of a store, and copies them to another one. FILE may be - for standard input or output.',
  positional: 'save FILE | restore FILE | status FILE | verify [FILE] | copy',
  sections: [
    place,
    target,
    flagSection('Output', {
      output: {type: 'string', help: 'The format of status and verify.', default: 'text', oneOf: ['text', 'json'], shorthand: 'o'},
      ...commandLogging,
      ...help,
    }),
  ],
});

export type SnapshotOptions = OptionsOf<typeof snapshotFlags>;
