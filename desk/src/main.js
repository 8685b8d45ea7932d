// The entry point.

import './desk.css';
import './desk.js';
