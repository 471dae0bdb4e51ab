import type {Controller} from '#src/runtime/controller.js';
import certificateSigningRequestApproving from './certificatesigningrequest-approving/controller.js';
import certificateSigningRequestCleaner from './certificatesigningrequest-cleaner/controller.js';
import certificateSigningRequestSigning from './certificatesigningrequest-signing/controller.js';

/** Every controller there is. */
export const controllers: readonly Controller[] = [
  certificateSigningRequestApproving,
  certificateSigningRequestCleaner,
  certificateSigningRequestSigning,
];
