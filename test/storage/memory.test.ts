import test from 'ava';
import {memoryStore} from '#src/storage/memory/index.js';
import {storeSuite} from './suite.js';

storeSuite(test, {name: 'memory', open: async clock => memoryStore({clock})});
