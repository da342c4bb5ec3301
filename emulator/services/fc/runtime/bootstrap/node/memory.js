'use strict';

/* The most memory this process has used. */

const fs = require('fs');

/**
 * Return the peak in kilobytes. The kernel's status page comes first: the peak that `getrusage` tells includes that of
 * the process which started this one.
 */
function peakKb() {
  return field('VmHWM') || process.resourceUsage().maxRSS;
}

/** Tell whether the process needed more than it may; pages of mapped files do not count, they can be dropped. */
function exceeds(peak, limitMb) {
  return peak - field('RssFile') > limitMb * 1024;
}

function field(name) {
  try {
    const found = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(fs.readFileSync('/proc/self/status', 'latin1'));
    return found ? Number(found[1]) : 0;
  } catch (error) {
    return 0; // no such file outside Linux
  }
}

module.exports = { exceeds, peakKb };
