package javax.servlet;

import java.io.OutputStream;

/** Declared for the compiler; the class itself is that of the function. */
public abstract class ServletOutputStream extends OutputStream {
    public abstract boolean isReady();

    public abstract void setWriteListener(WriteListener listener);
}
